"""Programs as text: array form, PyTorch, NumPy, LaTeX and Markdown. Nothing here imports torch."""
