"""What crosses a boundary, declared once: its limits, its errors, its JSON and its schema."""
