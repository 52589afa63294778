"""Cron triggers: the expressions, the moments they name, and the events that follow."""
