"""Queue consumers: which worker takes which messages when, and what becomes of them."""
