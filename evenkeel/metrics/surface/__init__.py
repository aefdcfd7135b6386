"""Surface traits of an answer, seen without its content: refusal, language, length, a cut end."""
