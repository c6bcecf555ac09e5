"""Laws: what a model says of y at given rows, and how they are made from what a user has."""
