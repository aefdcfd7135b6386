"""Reference pages generated from the code; `python -m evenkeel.reference DIR` writes them."""
