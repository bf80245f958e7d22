"""Plans, explanations, comparisons and verdicts as text: pure functions from values to text. Nothing here prints or reads a clock."""

from packer.render.plan import plan_table
from packer.render.text import PLAIN, Style, style_for

__all__ = ["PLAIN", "Style", "plan_table", "style_for"]
