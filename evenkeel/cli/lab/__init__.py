"""The commands of the lab, run by a person; one file a command. The product imports none of them."""
