"""Reads the names that a Windows library or program exports and imports."""
import pathlib
import struct

MACHINES = {0x8664: "x86_64", 0xAA64: "arm64"}


class PortableExecutable:
    """The machine, the exported names and the imported libraries of a file in PE32+ format."""

    def __init__(self, path):
        self.data = pathlib.Path(path).read_bytes()
        header = self.number("I", 0x3C)
        if self.data[header:header + 4] != b"PE\0\0":
            raise ValueError(f"{path} is not a Windows program or library")
        machine, section_count = self.number("H", header + 4), self.number("H", header + 6)
        self.machine = MACHINES.get(machine, hex(machine))
        optional = header + 24
        self.directories = optional + 112
        table = optional + self.number("H", header + 20)
        self.sections = [struct.unpack_from("<IIII", self.data, table + 40 * i + 8) for i in range(section_count)]

    def number(self, form, offset):
        return struct.unpack_from("<" + form, self.data, offset)[0]

    def offset(self, address):
        """Returns the place in the file of an address in memory."""
        for size, start, raw_size, raw_start in self.sections:
            if start <= address < start + max(size, raw_size):
                return address - start + raw_start
        raise ValueError(f"address {address:#x} is in no section")

    def text(self, address):
        begin = self.offset(address)
        return self.data[begin:self.data.index(b"\0", begin)].decode()

    def exports(self):
        table = self.number("I", self.directories)
        if table == 0:
            return []
        place = self.offset(table)
        names = self.offset(self.number("I", place + 32))
        return [self.text(self.number("I", names + 4 * i)) for i in range(self.number("I", place + 24))]

    def imports(self):
        place = self.offset(self.number("I", self.directories + 8))
        libraries = []
        while name := self.number("I", place + 12):
            libraries.append(self.text(name))
            place += 20
        return libraries
