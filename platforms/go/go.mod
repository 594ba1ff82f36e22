module github.com/sotto-runtime/sotto/platforms/go

go 1.23
