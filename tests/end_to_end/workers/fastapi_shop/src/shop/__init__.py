"""The routes of the shop."""
