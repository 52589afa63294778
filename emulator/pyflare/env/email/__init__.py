"""Email: the ``send_email`` binding and the messages that an ``email`` handler receives."""
