"""What the data commands share: their options, how they reach the state, and how they show what they find."""
