"""The page as far as it is written: finished blocks as they will be, and of the others what the linker lets through."""

from __future__ import annotations

from collections.abc import Mapping

from pagecompiler.fragment import clean_partial, clean_style
from pagecompiler.link import LinkContext, LinkedBlock, link_partial
from pagecompiler.page_build import PageBuild
from pagecompiler.plan import STYLE
from pagecompiler.results import BlockResult
from pagecompiler.stitch import share_rules, stitch
from pagecompiler.style import check_style, page_css


def draft_page(build: PageBuild, texts: Mapping[str, str]) -> str:
    """The page of a build that is still going on; `texts` has what the model wrote so far, by block.

    Blocks of which nothing can be shown yet are missing. It only reads, so another thread may go on building.
    Raises CompileError when a template cannot be used.
    """
    by_key = {block.key: texts[block.block.name] for block in build.blocks if block.block.name in texts}
    context = LinkContext(build.loaded, build.assets, build.labels())
    linked: list[LinkedBlock] = []
    css = ""
    for block in build.blocks:
        text = by_key.get(block.key, "")
        if block.block.kind == STYLE:
            # What the check has written anew is safe, also where it leaves something out.
            css = block.css if block.fragment is not None else check_style(clean_style(text)).css
        else:
            linked.append(_linked(block, text, context))
    return stitch(build.loaded.page, linked, page_css(build.palette, css, share_rules(linked)))


def _linked(block: BlockResult, text: str, context: LinkContext) -> LinkedBlock:
    done = block.linked
    if done is not None:
        return done
    return LinkedBlock(block.block, link_partial(block.block, clean_partial(text), context))
