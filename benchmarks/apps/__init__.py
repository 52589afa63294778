"""The yardsticks: what the same answers cost without pyflare."""
