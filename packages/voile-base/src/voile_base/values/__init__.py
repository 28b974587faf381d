"""What crosses a boundary, declared once: checked values, their JSON, expressions over columns."""
