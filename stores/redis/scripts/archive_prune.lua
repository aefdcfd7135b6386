prune() return dropped
