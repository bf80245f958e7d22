"""Plans, explanations, comparisons and verdicts as text: pure functions from values to text. Nothing here prints or reads a clock."""

from packer.render.comparison import comparison_text, repack_text, violations_text
from packer.render.explanation import explanation_text
from packer.render.plan import plan_table
from packer.render.text import PLAIN, Style, style_for

__all__ = ["PLAIN", "Style", "comparison_text", "explanation_text", "plan_table", "repack_text", "style_for", "violations_text"]
