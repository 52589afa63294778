"""The local endpoints that stand in for the platform's own triggers: cron, email, queues."""
