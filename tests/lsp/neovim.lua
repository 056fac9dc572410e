-- A session of Neovim with the server: `nvim --headless --clean -u NONE -l`, or -S, with TILEC and KERNEL in the environment.
local function finish(status, text)
    io.stdout:write(text .. "\n")
    vim.cmd(status == 0 and "qall!" or "cquit " .. status)
end

local function check(condition, text)
    if not condition then
        finish(1, "wrong: " .. text)
        error(text)
    end
end

local function run()
    local kernel = vim.env.KERNEL
    vim.cmd("edit " .. kernel)
    local buffer = vim.api.nvim_get_current_buf()
    local config = { name = "tilec", cmd = { vim.env.TILEC, "lsp" }, root_dir = vim.fn.fnamemodify(kernel, ":h") }
    local id = vim.lsp.start and vim.lsp.start(config) or vim.lsp.start_client(config)
    check(id, "no client")
    if not vim.lsp.start then
        vim.lsp.buf_attach_client(buffer, id)
    end
    local diagnostics = function(count)
        return vim.wait(30000, function() return #vim.diagnostic.get(buffer) == count end, 20)
    end
    check(diagnostics(1), "diagnostics: " .. vim.inspect(vim.diagnostic.get(buffer)))
    local first = vim.diagnostic.get(buffer)[1]
    check(first.message:find("did you mean `exp`", 1, true), first.message)

    local at = function(needle, behind)
        for row, line in ipairs(vim.api.nvim_buf_get_lines(buffer, 0, -1, false)) do
            local column = line:find(needle, 1, true)
            if column then
                vim.api.nvim_win_set_cursor(0, { row, column - 1 + (behind or 0) })
                return row, line
            end
        end
        check(false, "no " .. needle)
    end
    local ask = function(method, extra)
        local params = vim.lsp.util.make_position_params(0, "utf-16")
        for name, value in pairs(extra or {}) do
            params[name] = value
        end
        local answers = vim.lsp.buf_request_sync(buffer, method, params, 30000)
        check(answers and answers[id] and not answers[id].err, method .. " failed: " .. vim.inspect(answers))
        return answers[id].result
    end

    at("x = tl.load")
    local hover = ask("textDocument/hover")
    check(hover and hover.contents.value:find("x: fp32[1024]", 1, true), "hover: " .. vim.inspect(hover))
    at("tl.sum", 3)
    local found = {}
    for _, item in ipairs(ask("textDocument/completion").items) do
        found[item.label] = true
    end
    check(found.sum and found.load and found.float16, "completion")
    local row = at("tl.store(y_ptr", 9)
    local place = ask("textDocument/definition")
    check(place and place.range.start.line < row - 1, "definition: " .. vim.inspect(place))

    local line_row, line = at("tl.expp")
    vim.api.nvim_buf_set_lines(buffer, line_row - 1, line_row, false, { (line:gsub("tl%.expp", "tl.exp")) })
    check(diagnostics(0), "still: " .. vim.inspect(vim.diagnostic.get(buffer)))
    vim.lsp.stop_client(id)
    vim.wait(10000, function() return vim.lsp.client_is_stopped(id) end, 20)
    check(vim.lsp.client_is_stopped(id), "the server goes on")
    finish(0, "diagnostics, hover, completion, definition: right")
end

local ok, what = pcall(run)
if not ok then
    finish(1, tostring(what))
end
