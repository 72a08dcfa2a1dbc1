-- :Lurcher QUESTION fills the quickfix list; with Telescope, :LurcherPick QUESTION opens a picker.
-- Put this file in ~/.config/nvim/lua/lurcher.lua, and in init.lua: require("lurcher").setup()
local M = { command = "lurcher", limit = 20 }

-- Items for the quickfix list out of lines `path:line:column:text`; others are left out.
function M.parse(lines, folder)
  local items = {}
  for _, line in ipairs(lines) do
    local path, number, column, text = line:match("^(.-):(%d+):(%d+):(.*)$")
    if path then
      if not path:match("^/") then
        path = folder .. "/" .. path
      end
      table.insert(items, { filename = path, lnum = tonumber(number), col = tonumber(column), text = vim.trim(text) })
    end
  end
  return items
end

-- Asks and returns items, or nil and why not. The question is one argument of a program, not part of a shell's command.
function M.ask(question, folder)
  folder = folder or vim.fn.getcwd()
  local errors = {}
  local lines = {}
  local job = vim.fn.jobstart(
    { M.command, "search", "--format", "vimgrep", "-k", tostring(M.limit), "--", question },
    {
      cwd = folder,
      stdout_buffered = true,
      stderr_buffered = true,
      on_stdout = function(_, data) lines = data end,
      on_stderr = function(_, data) errors = data end,
    }
  )
  if job <= 0 then
    return nil, M.command .. " cannot be started"
  end
  local status = vim.fn.jobwait({ job }, 60000)[1]
  if status == -1 then
    vim.fn.jobstop(job)
    return nil, "no answer within a minute"
  end
  if status > 1 then
    return nil, vim.trim(table.concat(errors, "\n"))
  end
  return M.parse(lines, folder)
end

function M.quickfix(question)
  local items, problem = M.ask(question)
  if not items then
    vim.notify(problem, vim.log.levels.ERROR)
    return
  end
  vim.fn.setqflist({}, " ", { title = "lurcher: " .. question, items = items })
  if #items == 0 then
    vim.notify("lurcher: nothing found")
  else
    vim.cmd("copen")
  end
end

function M.pick(question)
  local items, problem = M.ask(question)
  if not items then
    vim.notify(problem, vim.log.levels.ERROR)
    return
  end
  local pickers, finders = require("telescope.pickers"), require("telescope.finders")
  local config = require("telescope.config").values
  pickers.new({}, {
    prompt_title = "lurcher: " .. question,
    finder = finders.new_table({
      results = items,
      entry_maker = function(item)
        local shown = vim.fn.fnamemodify(item.filename, ":.") .. ":" .. item.lnum .. "  " .. item.text
        return { value = item, display = shown, ordinal = shown, filename = item.filename, lnum = item.lnum, col = item.col }
      end,
    }),
    previewer = config.grep_previewer({}),
    sorter = config.generic_sorter({}),
  }):find()
end

function M.setup(options)
  for name, value in pairs(options or {}) do
    M[name] = value
  end
  vim.api.nvim_create_user_command("Lurcher", function(call) M.quickfix(call.args) end, { nargs = "+" })
  vim.api.nvim_create_user_command("LurcherPick", function(call) M.pick(call.args) end, { nargs = "+" })
end

return M
