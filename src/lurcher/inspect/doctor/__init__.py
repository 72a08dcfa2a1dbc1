"""`lurcher doctor`: checks everything an answer depends on, and says how to repair it. Changes nothing."""
