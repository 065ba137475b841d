"""Several machines: `ray_node.sh` (one call a machine), and examples for Slurm and Kubernetes. See docs/training-cluster.md."""
