"""Networks beside their mean field: what is counted of tokens in any dimension."""
