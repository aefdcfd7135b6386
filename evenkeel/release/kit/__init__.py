"""Tools that gate and lab share: asking models and judges many questions within a budget, resumably.

An experiment reads what it needs, adds up an `Estimate`, has it confirmed, asks a few questions at a time,
keeps every answer in a journal as soon as it is there, shows progress, and renders the outcome.

- `arguments`: lists and prices on a command line, files to read and to write; `InputError`, which the command
  line shows as one line with exit code 2.
- `cost`: `Costs` adds up calls, tokens and dollars by payee and stops at the limit (`BudgetUsedUpError`);
  `PayeeBudget` is the same in the form that a rewriter asks for; `Estimate` is what is confirmed.
- `journal`: `opened_journal` opens the file of a run, `Answers` keeps answers in it by content.
- `asking`: `work_through` (bounded concurrency; the first error ends it), `Asker` (remembered answers first,
  within the budget, patient with endpoints but not forever), `advised` (what an endpoint did and what to do
  about it), `StoppedError` (ended early; says how to go on).
- `datasets`: rows, prompts and expected answers in the files of other tools.
- `terminal`: consoles and tables; progress as one bar, or as ten lines without a terminal; and the question
  before anything is spent: `confirmation(confirmed=…)` gives a `Confirm`, which shows an estimate and raises
  `NotConfirmedError` unless the answer is yes.

An experiment then builds one `document.Document` of what it found: sections of tables (typed columns write
the values), paragraphs, bullets, folded details and pictures (`charts`). `renderings` shows it: `show` in a
terminal, `markdown`, and `html` as one file; `json_text` and `junit` write what machines read.
"""
