"""Good/bad pairs with a planted culprit, made from recorded snapshots. For testing only: nothing is fitted on them."""
