"""`evenkeel feedback`: what people say of verdicts, listed and written to files for an audit of the judge."""
