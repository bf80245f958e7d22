"""Pods and offerings in, a proven plan out. No network, no cluster, no clock."""

from packer.kernel_cache import prepare

prepare()
