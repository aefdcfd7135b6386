"""What all experiments share: asking, resuming, cost, progress and rendering.

An experiment builds one `document.Document` of what it found: sections of tables (typed columns write the
values), paragraphs, bullets, folded details and pictures (`charts`). `renderings` shows it: `show` in a
terminal, `markdown`, and `html` as one file; `json_text`, `csv_text` and `junit` write what machines read.
"""
