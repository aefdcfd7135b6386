"""What every client of a model's endpoint needs, whatever it asks for.

`faults` (what an error of the SDK means, and whether and when to try again), `breaker` (an endpoint
that keeps failing is left alone), `limits` (its pace, and the pauses it asks for), `price`, `observing`
(who looks on). Import the modules themselves: `faults` brings the SDK.
"""
