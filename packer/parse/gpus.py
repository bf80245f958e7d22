"""Names of accelerators: people write T4, tesla-t4, nvidia-t4, NVIDIA-A100-SXM4-40GB; catalogs have one spelling each.

A name is a set of words, less those that only say maker or form. A wish matches each known model that has all its words: ``A100``
both sizes of it, ``a100-40gb`` one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from packer.model import GPU_MODEL, Operator, Requirement

_NOISE = re.compile(r"nvidia|tesla|geforce|quadro|amd|radeon|instinct|intel|xilinx|habana|aws|google|gpu|sxm\d*|pcie?|hbm\d?e?|")


@lru_cache(maxsize=4096)
def words(name: str) -> frozenset[str]:
    """The telling words of a model's name, lower case."""
    return frozenset(word for word in re.split(r"[\s_/.-]+", name.lower()) if not _NOISE.fullmatch(word))


class GpuModels:
    """The models that a catalog and the nodes know, as their labels spell them."""

    def __init__(self, known: Iterable[str] = ()) -> None:
        self.known = tuple(sorted(set(known)))

    def matching(self, wish: str) -> tuple[str, ...]:
        """Known models with all words of the wish; the wish itself in lower case when there are none, which then matches nothing."""
        wanted = words(wish)
        found = tuple(name for name in self.known if wanted and wanted <= words(name))
        return found or (wish.lower(),)

    def requirements(self, wish: str) -> tuple[Requirement, ...]:
        """Requirements of a comma list; a leading ``!`` excludes. ``T4,L4`` is either of them, ``!M60`` any but that, or none."""
        parts = [part.strip() for part in wish.split(",") if part.strip()]
        return self.of([part for part in parts if not part.startswith("!")], [part.lstrip("! ") for part in parts if part.startswith("!")])

    def of(self, wanted: Iterable[str], unwanted: Iterable[str]) -> tuple[Requirement, ...]:
        """Requirements on the model label for names that are wanted and names that are not."""
        found = []
        for operator, wishes in ((Operator.IN, wanted), (Operator.NOT_IN, unwanted)):
            values = tuple(sorted({model for wish in wishes for model in self.matching(wish)}))
            if values:
                found.append(Requirement(GPU_MODEL, operator, values))
        return tuple(found)
