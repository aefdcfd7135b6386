"""Reference prompts: requests from the traffic that are sent again to find silent changes.

`keeper` keeps diverse ones with their original answer and that of the identical resend, which both have been
paid for. `pace` decides which is asked next, `asker` asks, `ranking` compares the answers, `plan` says
in advance what that costs and how soon it finds a change.
"""
