"""`moelint server`: the language server. The only package that imports pygls; nothing imports it but its own door.

`documents` holds unsaved text, `projects` what configuration says of it, `analyst` checks it in a thread, `diagnostics`
and the modules beside it turn the outcome into what editors show. `children` runs what takes longer in processes.
"""
