-- sysbench's oltp_read_write, with every transaction written to a file of its thread:
-- begin in microseconds of Unix time, duration in microseconds, 1 if it was rolled back.
-- With a gate none is begun while that file is not there.
require("oltp_read_write")
local ffi = require("ffi")
ffi.cdef [[
typedef struct { long s; long ns; } bench_time;
int clock_gettime(int clock, bench_time *to);
int access(const char *path, int mode);
int usleep(unsigned int microseconds);
]]

sysbench.cmdline.options.trace = {"prefix of the files", ""}
sysbench.cmdline.options.gate = {"file, or none", ""}

local ts = ffi.new("bench_time")
local function now()
   ffi.C.clock_gettime(0, ts)
   return tonumber(ts.s) * 1e6 + tonumber(ts.ns) / 1e3
end

local transaction = event
local log, flushed

function event(thread)
   if log == nil then
      log = io.open(sysbench.opt.trace .. "." .. thread, "w")
      log:setvbuf("full", 65536)
      flushed = now()
   end
   while sysbench.opt.gate ~= "" and ffi.C.access(sysbench.opt.gate, 0) ~= 0 do
      log:flush()
      ffi.C.usleep(5000)
   end
   local from = now()
   local ok, err = pcall(transaction, thread)
   local to = now()
   log:write(string.format("%.0f %.0f %d\n", from, to - from, ok and 0 or 1))
   if to - flushed > 1e5 then
      log:flush()
      flushed = to
   end
   if not ok then
      error(err, 0)
   end
end
