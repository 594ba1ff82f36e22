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

func TestAGrammarKeepsOnlyItsImage(t *testing.T) {
	choices := make([]string, 100)
	for i := range choices {
		choices[i] = fmt.Sprint(i)
	}
	schema := `{"type": "array", "items": {"enum": [` + strings.Join(choices, ", ") + `]}, "uniqueItems": true, "minItems": 2,
		"maxItems": 99}`
	grammar := must[*Grammar](t)(JSONSchemaGrammar(schema)) // compiled in 16 MB or more
	image := must[[]byte](t)(grammar.Save())
	equal(t, int(grammar.core.memory.size), len(image))
	if len(image) > 1<<20 {
		t.Errorf("the grammar has %d bytes", len(image))
	}
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
