"""Why a pod goes where it goes, or why it cannot, and what would change that. Data only: ``packer.render`` makes it text.

Nothing here takes the solver's word: every claim ("would do", "lacks", "would place it") comes from the same rules that the judge uses.
"""

from __future__ import annotations

from difflib import get_close_matches

from packer.errors import InputError
from packer.explain.gang import smaller_gang
from packer.explain.nearest import nearest_misses
from packer.explain.story import existing_story, launch_story
from packer.explain.survey import facts_of, survey_nodes, survey_offerings
from packer.explain.values import Explanation, Filling, Lever, NodeStory, Outcome, PodFacts, Priced, Remedy, Survey, to_json
from packer.model import Plan, Problem
from packer.situation import Situation
from packer.why import reasons_for

__all__ = [
    "Explanation",
    "Filling",
    "Lever",
    "NodeStory",
    "Outcome",
    "PodFacts",
    "Priced",
    "Remedy",
    "Survey",
    "explain",
    "find_pod",
    "reasons_for",
    "to_json",
]


_GANG_NOTE = "a gang starts only when enough of its members have a place; a change of one pod alone may not be enough"


def explain(problem: Problem, plan: Plan, pod_key: str) -> Explanation:
    """Everything worth knowing about one pod of a plan. ``pod_key`` is ``namespace/name``, or a name that is unique.

    Raises InputError for a pod that the input does not have, with the nearest names.
    """
    key = find_pod(problem, plan, pod_key)
    skipped = next((one for one in plan.skipped if one.pod == key), None)
    if skipped is not None:
        return Explanation(key, Outcome.SKIPPED, None, skipped=skipped)
    situation = Situation(problem, plan.launches, plan.placements)
    pod = situation.pods[key]
    state = situation.fresh_state(without=key)
    facts, offerings, nodes = facts_of(situation, pod), survey_offerings(situation, pod), survey_nodes(situation, pod, state)
    launch = next((one for one in plan.launches if key in one.pods), None)
    if launch is not None:
        return Explanation(key, Outcome.NEW_NODE, facts, offerings, nodes, launch_story(situation, pod, launch, state))
    placement = next((one for one in plan.placements if one.pod == key), None)
    if placement is not None:
        node = next(node for node in problem.nodes if node.name == placement.node)
        return Explanation(
            key, Outcome.EXISTING_NODE, facts, offerings, nodes, existing_story(situation, pod, node, plan.placements, state)
        )
    started = smaller_gang(situation, pod)
    nearest = (*((started,) if started else ()), *nearest_misses(situation, pod, state))
    notes = (_GANG_NOTE,) if pod.gang is not None and nearest else ()
    return Explanation(key, Outcome.UNPLACED, facts, offerings, nodes, nearest=nearest, notes=notes)


def find_pod(problem: Problem, plan: Plan, name: str) -> str:
    """The full key of a pod that may be named without its namespace. Raises InputError where that is none or several."""
    keys = sorted({pod.key for pod in problem.pods} | {one.pod for one in plan.skipped})
    if name in keys:
        return name
    named = [key for key in keys if key.split("/", 1)[-1] == name]
    if len(named) == 1:
        return named[0]
    if named:
        raise InputError(f"{len(named)} pods are called {name}", mend=f"say which: {', '.join(named[:5])}")
    near = get_close_matches(name, keys, 3) or get_close_matches(name, [key.split("/", 1)[-1] for key in keys], 3)
    running = next((node.name for node in problem.nodes for pod in node.pods if name in (pod.key, pod.name)), None)
    if running is not None:
        raise InputError(f"{name} runs already, on {running}", mend="only pods that wait are planned; packer compare prices a repack")
    mend = f"did you mean {' or '.join(near)}?" if near else "packer solve -o wide names the pods of the input"
    raise InputError(f"no pod {name} waits in the input", mend=mend)
