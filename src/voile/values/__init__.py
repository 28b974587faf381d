"""What crosses a boundary, declared once: checked values, their JSON, and expressions over columns."""
