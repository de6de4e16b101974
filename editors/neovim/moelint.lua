-- moelint in Neovim 0.7 and newer with the built-in client, no plug-in needed: dofile() this, or copy it into init.lua.
local M = {}

M.command = { "moelint", "server" }

local function root(path)
  local names = { "moelint.toml", "pyproject.toml", ".git" }
  local folder = vim.fn.fnamemodify(path, ":p:h")
  for _, name in ipairs(names) do
    local found = vim.fn.findfile(name, folder .. ";")
    if found == "" then
      found = vim.fn.finddir(name, folder .. ";")
    end
    if found ~= "" then
      return vim.fn.fnamemodify(found, ":p:h" .. (name == ".git" and ":h" or ""))
    end
  end
  return folder
end

function M.start(buffer)
  local path = vim.api.nvim_buf_get_name(buffer)
  if vim.lsp.start then -- 0.8 and newer
    vim.lsp.start({ name = "moelint", cmd = M.command, root_dir = root(path) }, { bufnr = buffer })
    return
  end
  M.client = M.client or vim.lsp.start_client({ name = "moelint", cmd = M.command, root_dir = root(path) })
  vim.lsp.buf_attach_client(buffer, M.client)
end

function M.setup()
  vim.api.nvim_create_autocmd("FileType", {
    pattern = "python",
    callback = function(event)
      M.start(event.buf)
    end,
  })
end

return M
