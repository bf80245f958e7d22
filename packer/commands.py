"""The commands, each as the place of its click command and one line of help. Nothing is imported until a command is asked for.

Commands of other packages stand here as text, so that the packer itself never imports them.
"""

from __future__ import annotations

from typing import NamedTuple


class Entry(NamedTuple):
    """``target`` is "module:attribute" of a click command; ``help`` is what `packer --help` shows."""

    target: str
    help: str


OFFLINE_CATALOG = "cloud.catalog"
"""The module that answers what is on offer when nobody gives a catalog: load, snapshot, providers, default_region."""

COMMANDS: dict[str, Entry] = {
    "solve": Entry("packer.cli.solve:solve", "Plan which machines to rent and where each waiting pod goes."),
    "show": Entry("packer.cli.show:show", "Show a plan made before, in any form, without solving again."),
    "check": Entry("packer.cli.check:check", "Judge a plan against its input, independently of the solver."),
    "explain": Entry("packer.cli.explain:explain", "Say why a pod goes where it goes, or why it cannot."),
    "compare": Entry("packer.cli.compare:compare", "Compare two plans, or a repack with the nodes that run now."),
    "catalog": Entry("cloud.commands:catalog", "List, show and compare the machines on offer."),
    "scrub": Entry("packer.cli.scrub:scrub", "Strip a dump to what the packer needs: no env, no secrets."),
    "replay": Entry("packer.cli.replay:replay", "Solve a recorded decision again and compare the digests."),
    "bench": Entry("packer.cli.bench:bench", "Measure cost over the proven bound, time and memory."),
    "config": Entry("packer.cli.settings:config", "Show each setting, its value and where that came from."),
    "completion": Entry("packer.cli.completion:completion", "Print the completion script for bash, zsh or fish."),
}
