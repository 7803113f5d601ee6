"""Losses of training: the draft model learns the teacher's distribution, and nothing depends on the device."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="needs the extra `train`")

from torch.nn import functional  # noqa: E402

from training.batches import Batch  # noqa: E402
from training.losses import TEMPERATURE, distilled_loss, sample_loss, soft_divergence  # noqa: E402
from training.model import Config, PageModel  # noqa: E402


def small_model(seed: int, *, mtp: bool = False) -> PageModel:
    torch.manual_seed(seed)
    return PageModel(
        Config(32, width=32, layers=2, feed_forward=32, heads=2, kv_heads=1, head_width=16, rotary=8,
               delta_heads=2, delta_width=16, mtp=mtp)
    )  # fmt: skip


def small_batch() -> Batch:
    ids = torch.randint(0, 32, (4, 64), generator=torch.Generator().manual_seed(3))
    is_answer = torch.zeros_like(ids, dtype=torch.bool)
    is_answer[:, 20:50] = True
    return Batch(ids, is_answer, 4 * 50)


def test_equal_distributions_do_not_diverge() -> None:
    logits = torch.randn(5, 32, generator=torch.Generator().manual_seed(1))
    counted = torch.ones(5, dtype=torch.bool)
    assert soft_divergence(logits, logits, counted).item() == pytest.approx(0.0, abs=1e-6)
    assert soft_divergence(logits + 2.0, logits, counted).item() == pytest.approx(0.0, abs=1e-6)


def test_the_divergence_is_that_of_the_softened_distributions() -> None:
    guessed, taught = torch.randn(2, 7, 32, generator=torch.Generator().manual_seed(2))
    wanted = functional.kl_div(
        functional.log_softmax(guessed / TEMPERATURE, -1),
        functional.softmax(taught / TEMPERATURE, -1),
        reduction="batchmean",
    )
    found = soft_divergence(guessed, taught, torch.ones(7, dtype=torch.bool))
    assert found.item() == pytest.approx(TEMPERATURE**2 * wanted.item(), rel=1e-5)


def test_rows_that_do_not_count_change_nothing() -> None:
    guessed, taught = torch.randn(2, 7, 32, generator=torch.Generator().manual_seed(2))
    counted = torch.arange(7) < 4
    whole = soft_divergence(guessed, taught, counted)
    guessed[4:] = 9.0
    assert soft_divergence(guessed, taught, counted).item() == whole.item()


def test_a_student_comes_nearer_to_its_teacher_and_only_the_student_learns() -> None:
    student, teacher, batch = small_model(1), small_model(2).eval(), small_batch()
    adam = torch.optim.AdamW(student.parameters(), lr=3e-3)
    losses = []
    for _ in range(12):
        total, shown = distilled_loss(student, teacher, batch)
        total.backward()
        adam.step()
        adam.zero_grad()
        losses.append(shown[0])
    assert losses[-1] < 0.8 * losses[0]
    assert all(parameter.grad is None for parameter in teacher.parameters())


def test_mtp_losses_come_one_for_each_step() -> None:
    total, losses = sample_loss(small_model(1, mtp=True), small_batch(), (0.3, 0.15, 0.1))
    assert len(losses) == 4
    weighted = losses[0] + 0.3 * losses[1] + 0.15 * losses[2] + 0.1 * losses[3]
    assert total.item() == pytest.approx(weighted, rel=1e-3)


def test_every_tensor_is_made_on_the_device_of_the_ids() -> None:
    """On another device than the CPU a forgotten one would end the training; `meta` shows it without a GPU."""
    model = small_model(1, mtp=True).to("meta")
    ids = small_batch().to("meta").ids
    logits = model.head(model.mtp(model.trunk(ids), ids))
    assert logits.device.type == "meta" and logits.shape == (4, 64, 32)
