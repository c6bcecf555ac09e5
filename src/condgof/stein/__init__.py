"""Evidence of y, features of x, and their sum; the exact Stein matrix by tiles; the power criterion."""
