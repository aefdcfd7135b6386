"""What is seen without reading for content: refusal, language, length, a cut end."""
