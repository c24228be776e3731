"""LaTeX and Markdown."""
