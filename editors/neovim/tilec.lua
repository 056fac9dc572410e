-- Kernels of tilec in Neovim: docs/inspecting.md says where this goes.
return { name = "tilec", cmd = { "tilec", "lsp" }, filetypes = { "python" }, root_markers = { ".git" }, init_options = { target = "sm_90a" } }
