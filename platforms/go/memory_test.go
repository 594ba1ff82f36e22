package sotto

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// kernelFlags returns the kernel flags of the mapping at an address (proc(5), VmFlags).
func kernelFlags(t *testing.T, address uintptr) string {
	t.Helper()
	inside := false
	for _, line := range strings.Split(string(must[[]byte](t)(os.ReadFile("/proc/self/smaps"))), "\n") {
		var begin, end uintptr
		if count, _ := fmt.Sscanf(line, "%x-%x", &begin, &end); count == 2 {
			inside = begin <= address && address < end
		} else if flags, found := strings.CutPrefix(line, "VmFlags:"); inside && found {
			return flags
		}
	}
	return ""
}

func TestLargeBlocksAskForHugePages(t *testing.T) {
	if _, err := os.Stat("/sys/kernel/mm/transparent_hugepage"); err != nil {
		t.Skip("no huge pages here")
	}
	large := must[block](t)(newBlock(4 << 20))
	defer large.free()
	first := uintptr(large.address)
	equal(t, first%(2<<20), 0)
	for _, address := range []uintptr{first, first + 4<<20 - 1} {
		equal(t, strings.Contains(kernelFlags(t, address), " hg"), true)
	}
}
