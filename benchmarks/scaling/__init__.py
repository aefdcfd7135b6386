"""What evenkeel needs at a load that no single machine has: a model of its parts, checked by a simulation.

`load` is what comes and what is set, `model` what that takes by arithmetic, `simulation` what happens when
it is played through event by event. docs/scaling.md has the tables.
"""
