/* Stands in for PowerShell, which wine has in name only: prints what src/transport/process/process-table.ts asks it for, lines of the number of a
   process, that of its parent, and the FILETIME of its start. */
#include <stdio.h>
#include <windows.h>
#include <tlhelp32.h>

static void print(DWORD pid, DWORD parent) {
  FILETIME start, end, kernel, user;
  DWORD code;
  HANDLE process = OpenProcess(PROCESS_QUERY_LIMITED_INFORMATION, FALSE, pid);
  if (!process) return;
  if (GetProcessTimes(process, &start, &end, &kernel, &user) && GetExitCodeProcess(process, &code) && code == STILL_ACTIVE) {
    unsigned long long ticks = ((unsigned long long)start.dwHighDateTime << 32) | start.dwLowDateTime;
    printf("%lu %lu %llu\n", pid, parent, ticks);
  }
  CloseHandle(process);
}

int main(void) {
  PROCESSENTRY32W entry = {.dwSize = sizeof entry};
  HANDLE all = CreateToolhelp32Snapshot(TH32CS_SNAPPROCESS, 0);
  if (all == INVALID_HANDLE_VALUE) return 1;
  for (BOOL has = Process32FirstW(all, &entry); has; has = Process32NextW(all, &entry))
    print(entry.th32ProcessID, entry.th32ParentProcessID);
  return 0;
}
