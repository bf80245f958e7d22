"""The others: Karpenter's own scheduler, and first fit decreasing on one best type as Cluster Autoscaler estimates."""
