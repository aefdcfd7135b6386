"""Commands of the lab, which people run, one file each. The product imports none of them."""
