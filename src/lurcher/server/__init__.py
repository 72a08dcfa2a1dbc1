"""An engine that lives long: for servers, which answer many questions while the index changes."""
