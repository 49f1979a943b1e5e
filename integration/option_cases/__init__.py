"""Options that are honoured, what is observed of them, and what each changes."""
