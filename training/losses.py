"""What a training step minimises: next tokens and MTP guesses, or, for the draft model, the teacher's distribution."""

from __future__ import annotations

import torch
import torch.nn.functional as F  # noqa: N812 (the name the whole PyTorch world uses)
from torch import Tensor

from training.batches import Batch
from training.model import PageModel

TEMPERATURE = 2.0  # of the soft targets: at 1 a teacher this sure shows little more than its first choice
_ROW_GRAIN = 256
_NOT_COUNTED = -100


def sample_loss(model: PageModel, batch: Batch, mtp_weights: tuple[float, ...]) -> tuple[Tensor, list[float]]:
    """The loss against the samples: the next token, then each MTP step with its weight; and its parts."""
    ids, rows, wanted = _inputs(batch)
    with torch.autocast(ids.device.type, torch.bfloat16):
        hidden = model.trunk(ids)
        total = answer = _cross_entropy(model, hidden, rows, wanted)
        losses = [answer.item()]
        for weight in mtp_weights:
            hidden = model.mtp(hidden, ids)
            part = _cross_entropy(model, hidden, rows, wanted)
            losses.append(part.item())
            total = total + weight * part
    return total, losses


def distilled_loss(model: PageModel, teacher: PageModel, batch: Batch) -> tuple[Tensor, list[float]]:
    """The loss against the teacher's distribution, and beside it the one against the samples, which only is shown.

    Both distributions are softened by a temperature T, and the divergence from the teacher's is scaled by T², so that
    its gradients do not shrink with T (Hinton, Vinyals and Dean 2015, "Distilling the Knowledge in a Neural Network",
    arXiv:1503.02531, section 2).
    """
    ids, rows, wanted = _inputs(batch)
    with torch.autocast(ids.device.type, torch.bfloat16):
        with torch.no_grad():
            taught = _logits(teacher, teacher.trunk(ids), rows)
        guessed = _logits(model, model.trunk(ids), rows)
    divergence = soft_divergence(guessed, taught, wanted != _NOT_COUNTED)
    return divergence, [divergence.item(), F.cross_entropy(guessed, wanted, ignore_index=_NOT_COUNTED).item()]


def soft_divergence(guessed: Tensor, taught: Tensor, counted: Tensor) -> Tensor:
    """T² times the mean KL(taught ‖ guessed) over the rows that count; both are logits (rows, vocabulary)."""
    soft = F.log_softmax(taught / TEMPERATURE, -1)
    own = F.log_softmax(guessed / TEMPERATURE, -1)
    of_rows = (soft.exp() * (soft - own)).sum(-1)
    return TEMPERATURE**2 * of_rows[counted].mean()


def _inputs(batch: Batch) -> tuple[Tensor, Tensor, Tensor]:
    """The ids that are read, the flat numbers of the rows that answer, and the tokens wanted of these.

    Their number is padded with rows that don't count, so that few shapes occur.
    """
    rows = batch.is_answer[:, 1:].flatten().nonzero().flatten()
    wanted = batch.ids[:, 1:].flatten()[rows]
    padding = -len(rows) % _ROW_GRAIN
    return batch.ids[:, :-1], F.pad(rows, (0, padding)), F.pad(wanted, (0, padding), value=_NOT_COUNTED)


def _logits(model: PageModel, hidden: Tensor, rows: Tensor) -> Tensor:
    return model.head(hidden.flatten(0, 1)[rows]).float()


def _cross_entropy(model: PageModel, hidden: Tensor, rows: Tensor, wanted: Tensor) -> Tensor:
    return F.cross_entropy(_logits(model, hidden, rows), wanted, ignore_index=_NOT_COUNTED)
