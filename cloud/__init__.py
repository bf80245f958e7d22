"""Machines: what can be rented, where, for how much. Knows providers, not pods."""
